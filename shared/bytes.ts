// Sizes in UTF-8 bytes, and cuts that never split a code point.

const encoder = new TextEncoder();
// A leading U+FEFF is text like any other.
const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

/** The UTF-8 length of `text` in bytes. A lone surrogate counts as the three bytes of U+FFFD. */
export function utf8Length(text: string): number {
  // Every UTF-16 unit is one to three bytes, so short ASCII needs no copy.
  let bytes = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit >= 0xd800 && unit < 0xdc00 && isLowSurrogate(text.charCodeAt(index + 1))) {
      bytes += 4;
      index += 1;
    } else bytes += 3;
  }
  return bytes;
}

/** The longest prefix of `text` that is at most `maxBytes` long in UTF-8. */
export function utf8Prefix(text: string, maxBytes: number): string {
  const bytes = encoder.encode(text);
  if (bytes.length <= maxBytes) return text;
  let end = Math.max(0, maxBytes);
  while (end > 0 && isContinuation(bytes[end])) end -= 1;
  return decoder.decode(bytes.subarray(0, end));
}

/** The longest suffix of `text` that is at most `maxBytes` long in UTF-8. */
export function utf8Suffix(text: string, maxBytes: number): string {
  const bytes = encoder.encode(text);
  if (bytes.length <= maxBytes) return text;
  let start = bytes.length - Math.max(0, maxBytes);
  while (start < bytes.length && isContinuation(bytes[start])) start += 1;
  return decoder.decode(bytes.subarray(start));
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}
