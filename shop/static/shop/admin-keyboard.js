// The theme opens the sidebar and the menu of the account by clicks on what is no button: the keyboard does not reach it.

const { sidebar } = document.querySelector("script[data-sidebar]").dataset;
const OPENERS = ["sidebarMobileOpen = !", "sidebarDesktopOpen = !", "openUserLinks = !", "switchTheme("];

for (const opener of document.querySelectorAll(OPENERS.map((code) => `[x-on\\:click*="${code}"]`).join())) {
  opener.tabIndex = 0;
  opener.role = "button";
  if (opener.textContent.trim() === "dock_to_right") opener.ariaLabel = sidebar;
  opener.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    opener.click();
  });
}
