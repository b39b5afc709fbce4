// A button with data-copies="ID" copies the text of that element, and says so beside itself.
for (const button of document.querySelectorAll("[data-copies]")) {
  const source = document.getElementById(button.dataset.copies);
  button.hidden = false;
  button.addEventListener("click", async () => {
    let told = "Copied.";
    try {
      await navigator.clipboard.writeText(source.value ?? source.textContent);
    } catch {
      // Browsers give the clipboard to pages over HTTPS and on this machine only.
      getSelection().selectAllChildren(source);
      source.select?.();
      told = "Selected: copy it with Ctrl+C.";
    }
    button.nextElementSibling.textContent = told;
  });
}
