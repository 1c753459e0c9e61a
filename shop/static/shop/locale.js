// The page's language, in the visitor's regional variant if there is one: 24 hours in Britain, am and pm in America.

const { lang } = document.documentElement;
const variant = navigator.languages.find((language) => language.toLowerCase().startsWith(lang.toLowerCase().slice(0, 2)));

export const locale = variant ?? lang;
