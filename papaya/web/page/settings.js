// The settings of the user in this browser: colours, notifications, whether JOIN and QUIT, and
// previews of links, are shown, and whether others see that the user is writing.

import { $ } from "./view.js";

export function load(key) {
  try {
    const value = JSON.parse(localStorage.getItem(`papaya.${key}`));
    return value !== null && typeof value === "object" ? value : {};
  } catch {
    return {}; // storage is off or damaged: use the defaults
  }
}

export function save(key, value) {
  try {
    localStorage.setItem(`papaya.${key}`, JSON.stringify(value));
  } catch {
    // storage is off or full: the page works without it
  }
}

export const settings = {
  theme: "auto",
  notify: false,
  quiet: false,
  previews: true,
  typing: true,
  ...load("settings"),
};

function apply() {
  document.documentElement.dataset.theme = settings.theme;
  save("settings", settings);
  globalThis.dispatchEvent(new Event("settings"));
}

async function notify(wanted) {
  settings.notify = false;
  $("notify-why").textContent = "";
  if (wanted && !("Notification" in globalThis))
    $("notify-why").textContent = "This browser has no notifications.";
  else if (wanted) {
    settings.notify = (await Notification.requestPermission()) === "granted";
    if (!settings.notify)
      $("notify-why").textContent =
        "The browser does not allow it for this page.";
  }
  $("notify").checked = settings.notify;
  apply();
}

for (const choice of document.querySelectorAll("input[name=theme]")) {
  choice.checked = choice.value === settings.theme;
  choice.addEventListener("change", () => {
    settings.theme = choice.value;
    apply();
  });
}
if (globalThis.Notification?.permission !== "granted") settings.notify = false;
$("notify").checked = settings.notify;
$("notify").addEventListener("change", () => notify($("notify").checked));
$("quiet").checked = settings.quiet;
$("quiet").addEventListener("change", () => {
  settings.quiet = $("quiet").checked;
  apply();
});
$("previews").checked = settings.previews;
$("previews").addEventListener("change", () => {
  settings.previews = $("previews").checked;
  apply();
});
$("show-typing").checked = settings.typing;
$("show-typing").addEventListener("change", () => {
  settings.typing = $("show-typing").checked;
  apply();
});
$("settings-button").addEventListener("click", () => $("settings").showModal());
apply();
