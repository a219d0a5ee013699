/** @module Signed notes: a text and its signature lines (C2SP signed-note). */
import { fromBase64, toBase64 } from './base64.ts'
import { isKeyName, isSignedBy, type NoteSigner, type NoteVerifier } from './note-key.ts'

/** C2SP: a verifier accepts at least 16 signatures and sets a limit. */
const SIGNATURES_MAX = 100
/** Far above the size of any checkpoint with its cosignatures. */
const NOTE_MAX_BYTES = 1024 * 1024
const KEY_ID_BYTES = 4
const SIGNATURE_LINE = /^\u2014 (\S+) ([A-Za-z0-9+/]+={0,2})$/u

export interface NoteSignature {
  readonly name: string
  /** 8 hex digits. */
  readonly keyId: string
  /** Bytes after the key id. */
  readonly signature: Uint8Array
}

export interface SignedNote {
  /** The signed text; ends in a newline. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

export type OpenedNote =
  /** `signers`: the known keys with a valid signature, in the order of their lines. */
  | {
      readonly ok: true
      readonly text: string
      readonly signers: readonly NoteVerifier[]
      /** Signature lines of `signers`, one each. Lines of other keys are left out, since they were not checked. */
      readonly lines: string
    }
  | { readonly ok: false; readonly code: 'malformed-note' | 'unknown-key' | 'invalid-signature' }

/** Whether the text is well-formed Unicode without control characters other than newline, and ends in a newline. */
export function isNoteText(text: string): boolean {
  return text.endsWith('\n') && text.isWellFormed() && !hasControls(text)
}

const FIRST_PRINTABLE = 0x20
const NEWLINE = 0x0a

function hasControls(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i)
    if (unit < FIRST_PRINTABLE && unit !== NEWLINE) return true
  }
  return false
}

function signatureLine({ name, keyId, signature }: NoteSignature): string {
  return `\u2014 ${name} ${toBase64(Buffer.concat([Buffer.from(keyId, 'hex'), signature]))}\n`
}

/** The signature line of one key over a text. Throws `TypeError` if the text is not valid in a note. */
export function signText(text: string, { verifier, sign }: NoteSigner): string {
  if (!isNoteText(text))
    throw new TypeError('the text of a note ends in a newline and holds no other control character')
  return signatureLine({ name: verifier.name, keyId: verifier.keyId, signature: sign(text) })
}

/** The whole note. Throws `TypeError` if the text is not valid in a note. */
export function signNote(text: string, signers: readonly NoteSigner[]): string {
  return `${text}\n${signers.map((signer) => signText(text, signer)).join('')}`
}

/** Parses a note without checking signatures; undefined unless the note is in its one canonical spelling. */
export function parseNote(note: string): SignedNote | undefined {
  if (note.length > NOTE_MAX_BYTES || !isNoteText(note)) return undefined
  // The text may contain empty lines: the last empty line separates it from the signatures.
  const border = note.lastIndexOf('\n\n')
  if (border < 0) return undefined
  const text = note.slice(0, border + 1)
  const signatures = parseSignatureLines(note.slice(border + 2))
  return signatures === undefined ? undefined : { text, signatures }
}

/** Parses one or more signature lines; undefined if any of them is malformed. */
export function parseSignatureLines(text: string): readonly NoteSignature[] | undefined {
  if (!text.endsWith('\n')) return undefined
  // One line more than the limit shows that the limit is exceeded; the rest need not be split.
  const lines = text.slice(0, -1).split('\n', SIGNATURES_MAX + 1)
  if (lines.length > SIGNATURES_MAX) return undefined
  const signatures = lines.map(parseSignatureLine).filter((signature) => signature !== undefined)
  return signatures.length === lines.length ? signatures : undefined
}

function parseSignatureLine(line: string): NoteSignature | undefined {
  const [, name = '', encoded = ''] = SIGNATURE_LINE.exec(line) ?? []
  const bytes = fromBase64(encoded)
  if (bytes === undefined || bytes.length <= KEY_ID_BYTES || !isKeyName(name)) return undefined
  const keyId = Buffer.from(bytes.subarray(0, KEY_ID_BYTES)).toString('hex')
  return { name, keyId, signature: bytes.subarray(KEY_ID_BYTES) }
}

/** Parses a note and checks the signatures of the known keys; those of other keys are ignored. One invalid signature of a known key invalidates the note. */
export function openNote(note: string, known: readonly NoteVerifier[]): OpenedNote {
  const parsed = parseNote(note)
  if (parsed === undefined) return { ok: false, code: 'malformed-note' }
  const signers = new Map<NoteVerifier, NoteSignature>()
  for (const each of parsed.signatures) {
    const { name, keyId, signature } = each
    const verifier = known.find((key) => key.name === name && key.keyId === keyId)
    if (verifier === undefined || signers.has(verifier)) continue
    if (!isSignedBy(verifier, parsed.text, signature)) return { ok: false, code: 'invalid-signature' }
    signers.set(verifier, each)
  }
  if (signers.size === 0) return { ok: false, code: 'unknown-key' }
  const lines = [...signers.values()].map(signatureLine).join('')
  return { ok: true, text: parsed.text, signers: [...signers.keys()], lines }
}
