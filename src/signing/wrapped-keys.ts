/** @module A key file whose text is encrypted under a key that another program keeps, so that a copy of the data folder seals nothing. */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { parseJson } from '../../schemas/json.ts'
import { KeyFileError } from './ledger-keys.ts'
import { SUBJECT_SECRET_BYTES, unwrapSecret, wrapSecret } from './subject-key.ts'

/** All throw `KeyFileError` `key-command-failed`. What is unwrapped are the bytes that `wrap` was given. */
export interface KeyWrapping {
  readonly wrap: (secret: Uint8Array) => Uint8Array
  readonly unwrap: (wrapped: Uint8Array) => Uint8Array
  /** `unwrap` without blocking the thread. */
  readonly unwrapLater: (wrapped: Uint8Array) => Promise<Uint8Array>
}

const FORMAT = 'countersign-wrapped-keys/1'
const NONCE_BYTES = 12

const WrappedFile = z.strictObject({ format: z.literal(FORMAT), secret: z.base64(), keys: z.base64url() })

/** The text of a wrapped key file: `{format, secret, keys}`, where `keys` is encrypted under a new secret, and `secret` is what the program made of that. */
export function wrapText(text: string, { wrap, unwrap }: KeyWrapping): string {
  const secret = randomBytes(SUBJECT_SECRET_BYTES)
  const wrapped = Buffer.from(wrap(secret))
  // Keys that cannot be had again must not be written: they may replace the only copy.
  if (!secret.equals(unwrap(wrapped)))
    throw new KeyFileError(
      'key-command-failed',
      'the program of --keys does not unwrap what it wraps: it has to print the same bytes again',
    )
  const keys = wrapSecret(secret, FORMAT, { secret: Buffer.from(text), nonce: randomBytes(NONCE_BYTES) })
  return `${JSON.stringify({ format: FORMAT, secret: wrapped.toString('base64'), keys })}\n`
}

/** The text of the keys in a key file. Throws `KeyFileError`: `key-file-wrapped` and `key-file-plain` if the file is not of the kind that the setting names. */
export function unwrapText(text: string, { source, wrapping }: UnwrapOptions): string {
  if (wrapping === undefined) return plainText(text, source)
  const file = wrappedFile(text, source)
  return openedText(file, { secret: wrapping.unwrap(file.secret), source })
}

/** `unwrapText` of a wrapped file without blocking the thread. */
export async function unwrapTextLater(
  text: string,
  { source, wrapping }: UnwrapOptions & { readonly wrapping: KeyWrapping },
): Promise<string> {
  const file = wrappedFile(text, source)
  return openedText(file, { secret: await wrapping.unwrapLater(file.secret), source })
}

interface UnwrapOptions {
  /** Names the file in errors. */
  readonly source: string
  readonly wrapping?: KeyWrapping | undefined
}

interface Wrapped {
  readonly secret: Uint8Array
  readonly keys: string
}

function parsed(text: string): Wrapped | undefined {
  const file = WrappedFile.safeParse(parseOrNothing(text))
  return file.success ? { secret: Buffer.from(file.data.secret, 'base64'), keys: file.data.keys } : undefined
}

function plainText(text: string, source: string): string {
  if (parsed(text) === undefined) return text
  throw new KeyFileError(
    'key-file-wrapped',
    `${source} is encrypted under a key of another program; name that program: --keys exec:COMMAND`,
  )
}

function wrappedFile(text: string, source: string): Wrapped {
  const file = parsed(text)
  if (file !== undefined) return file
  throw new KeyFileError(
    'key-file-plain',
    `${source} is not encrypted, and --keys names a program for it; encrypt it with "countersign keys wrap", or leave out exec:`,
  )
}

function openedText({ keys }: Wrapped, { secret, source }: { secret: Uint8Array; source: string }): string {
  const opened = unwrapSecret(secret, FORMAT, keys)
  if (opened !== undefined) return Buffer.from(opened).toString()
  throw new KeyFileError(
    'key-command-failed',
    `what the program of --keys unwraps does not open ${source}; name the program, and its key, that wrapped the file`,
  )
}

function parseOrNothing(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}
