// A button with data-copies="ID" copies the text of that element, and reports the result in the element after it.
for (const button of document.querySelectorAll("[data-copies]")) {
  const source = document.getElementById(button.dataset.copies);
  button.hidden = false;
  button.addEventListener("click", async () => {
    let result = "Copied.";
    try {
      await navigator.clipboard.writeText(source.value ?? source.textContent);
    } catch {
      // Browsers allow access to the clipboard only over HTTPS and from localhost.
      getSelection().selectAllChildren(source);
      source.select?.();
      result = "Selected. Press Ctrl+C to copy it.";
    }
    button.nextElementSibling.textContent = result;
  });
}
