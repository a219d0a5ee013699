/** @module base64url without padding (RFC 4648 section 5), accepted only in its canonical spelling. */

/** Decodes a canonical text. Returns undefined for padding, foreign characters or non-zero spare bits. */
export function fromBase64url(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? new Uint8Array(bytes) : undefined
}

export function toBase64url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url')
}
