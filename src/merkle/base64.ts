/** @module Standard base64 with padding (RFC 4648 section 4), in its one canonical spelling. */

/** The bytes of a canonical text; undefined for any other spelling: foreign characters, or unused bits that are not zero. */
export function fromBase64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
