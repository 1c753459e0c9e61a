// Tries the numbers first, first + step, …: PBKDF2 of nonce and number must begin with the challenge's prefix.

const bytesOf = (hex) => Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));
const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

async function solve({ challenge, first, step }) {
  const { nonce, salt, cost, keyLength, keyPrefix } = challenge.parameters;
  const prefix = bytesOf(keyPrefix);
  const terms = { name: "PBKDF2", hash: "SHA-256", salt: bytesOf(salt), iterations: cost };
  const password = new Uint8Array([...bytesOf(nonce), 0, 0, 0, 0]);
  const number = new DataView(password.buffer, password.length - 4);
  for (let counter = first; ; counter += step) {
    number.setUint32(0, counter);
    const key = await crypto.subtle.importKey("raw", password, "PBKDF2", false, ["deriveBits"]);
    const derived = new Uint8Array(await crypto.subtle.deriveBits(terms, key, keyLength * 8));
    if (prefix.every((byte, index) => byte === derived[index])) return { counter, derivedKey: hexOf(derived) };
  }
}

addEventListener("message", ({ data }) => { solve(data).then(postMessage, () => postMessage(null)); });
