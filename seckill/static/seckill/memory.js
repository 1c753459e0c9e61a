// What a page remembers: over a reload, or also when the tab is closed. Where the browser's storage is full or is not
// there, it remembers until the page is left, and everything else goes on.

class Memory {
  constructor(storage) {
    this.storage = storage;
    this.unstored = new Map();
  }

  get names() { return Object.keys(this.storage ?? {}); }
  get(name) { return this.unstored.get(name) ?? this.storage?.getItem(name) ?? null; }

  set(name, text) {
    try {
      this.storage.setItem(name, text);
      this.unstored.delete(name);
    } catch {
      this.unstored.set(name, text);
    }
  }

  remove(name) {
    this.unstored.delete(name);
    this.storage?.removeItem(name);
  }
}

// A browser may forbid the storage, or have none.
function storageOf(kind) {
  try { return window[kind]; } catch { return null; }
}

export const tabMemory = new Memory(storageOf("sessionStorage"));
export const browserMemory = new Memory(storageOf("localStorage"));
