/** @module The ways in which a secret may be written down. */

/** Shorter texts occur by chance. */
const MIN_CHARS = 16

/** A binary secret as base64url, base64, hex and Latin-1 text. */
export function formsOf(secret: Uint8Array): readonly string[] {
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  const forms = [bytes.toString('base64url'), bytes.toString('base64').replace(/=+$/, ''), hex, hex.toUpperCase()]
  return [...forms, bytes.toString('latin1')].filter((form) => form.length >= MIN_CHARS)
}
