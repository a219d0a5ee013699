/**
 * @module Completeness of an export. Only a signed tree proves it: the whole log of a tenant, up to the size that its key signed. For a run, or the answer to
 * a query, a trailer is only a claim by the holder of that key, which is no proof.
 */
import { type ExportTrailer, signedTrailerText } from '../../schemas/export-trailer.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { type Loss, lossesText } from '../../schemas/loss.ts'
import type { NoteVerifier } from '../merkle/note-key.ts'
import { isDsseSigned } from '../signing/dsse.ts'
import { isOfArchive } from './archive-filter.ts'
import { forkFault, type HeldCheckpoint } from './checkpoint-check.ts'
import type { ExportTree } from './export-tree.ts'
import type { VerifyFaultCode } from './fault.ts'

/** Finds the reader's key for the log of this name; `keyId` is the id that the export claims. */
export type FindLogKey = (name: string, keyId: string) => NoteVerifier | undefined

export interface CompletenessInput {
  readonly trailer: ExportTrailer
  readonly tree: ExportTree
  readonly kept: HeldCheckpoint | undefined
  readonly findKey: FindLogKey | undefined
  /** Other parts of its log are checked together with it: the checkpoint may apply to one of them. */
  readonly inChain?: boolean | undefined
}

export interface Completeness {
  readonly proven: boolean
  /** What is shown, as a sentence. */
  readonly statement: string
  /** Whether the saved checkpoint could be compared with these events; absent if there is no checkpoint. */
  readonly held?: boolean
  readonly faults: readonly { readonly code: VerifyFaultCode; readonly message: string }[]
}

export function judgeCompleteness(input: CompletenessInput): Completeness {
  const { trailer } = input
  const signature = signatureOf(trailer, input.findKey)
  const faults = [
    ...signature.faults,
    ...lossFaults(trailer.losses),
    ...(isWholeTenant(trailer) ? treeFaults(input) : []),
  ]
  const held = input.kept && { held: isWholeTenant(trailer) && input.tree.keptFits !== undefined }
  if (faults.length > 0)
    return { proven: false, statement: 'not shown: what should prove it does not fit', ...held, faults }
  const proof = isWholeTenant(trailer) ? proofOf(input, signature.by) : proofOfArchive(trailer, signature.by)
  if (proof !== undefined) return { proven: true, statement: proof, ...held, faults }
  const message = whyUnproven(input, signature)
  return { proven: false, statement: message, ...held, faults: [{ code: 'completeness-unproven', message }] }
}

/** Losses that the ledger itself stated when it made the file. */
export function lossFaults(losses: readonly Loss[] | undefined): Completeness['faults'] {
  if (losses === undefined) return []
  return [{ code: 'losses', message: `not whole, says the ledger itself: ${lossesText(losses)}` }]
}

function isWholeTenant({ run, filter }: ExportTrailer): boolean {
  return run === null && filter === undefined
}

interface Signature {
  /** The key that signed, if the reader has it. */
  readonly by: NoteVerifier | undefined
  /** Why there is no such key. */
  readonly missing: string
  readonly faults: Completeness['faults']
}

/** Checks the trailer's signature with the reader's key, if there is one. */
export function signatureOf(trailer: ExportTrailer, findKey: FindLogKey | undefined): Signature {
  if (trailer.v === 1)
    return { by: undefined, missing: 'its trailer has no signature, as in exports of version 0.1.0', faults: [] }
  const { v, tenant, signature } = trailer
  return logSigner({ tenant, signature, text: signedTrailerText(v, trailer) }, findKey)
}

export interface SignedText {
  readonly tenant: string
  readonly signature: { readonly key: string; readonly type: string; readonly sig: string }
  readonly text: string
}

/** Checks the signature of a text that a log of this tenant should have signed. */
export function logSigner({ tenant, signature, text }: SignedText, findKey: FindLogKey | undefined): Signature {
  const [, name = '', keyId = ''] = /^([^\s+]+)\+([0-9a-f]{8})$/.exec(signature.key) ?? []
  const verifier = findKey?.(name, keyId)
  const fault = (message: string): Signature => ({
    by: undefined,
    missing: message,
    faults: [{ code: 'trailer-signature', message }],
  })
  if (!name.endsWith(`/${tenant}`)) return fault(`the trailer is signed for the log ${name}, which is not of ${tenant}`)
  // A key id is a hash over name and key: if a known id appears under another name, no such key can exist.
  if (verifier !== undefined && verifier.keyId === keyId && verifier.name !== name)
    return fault(`the trailer names ${signature.key}, and the key of that id is of the log ${verifier.name}`)
  if (verifier === undefined || verifier.keyId !== keyId)
    return {
      by: undefined,
      missing: notSupplied(signature.key, verifier),
      faults: [],
    }
  const sig = Buffer.from(signature.sig, 'base64')
  const fits =
    sig.toString('base64') === signature.sig &&
    isDsseSigned(Buffer.from(text), { payloadType: signature.type, key: verifier.key, sig })
  return fits
    ? { by: verifier, missing: '', faults: [] }
    : fault(
        `the signature of the trailer is not that of ${signature.key}: the trailer was altered or made by somebody else`,
      )
}

function notSupplied(key: string, known: NoteVerifier | undefined): string {
  const missing = `its trailer is signed with ${key}, a key that was not supplied`
  if (known === undefined) return missing
  return `${missing}; you have ${known.name}+${known.keyId}: if the key of this log was rotated, pin the other one, too (countersign keys pin KEY --succession FILE)`
}

function treeFaults({ trailer, tree, kept, inChain = false }: CompletenessInput): Completeness['faults'] {
  if (tree.fits(trailer) === false)
    return [
      { code: 'trailer-root', message: 'the trailer names another size or root of the log than these events make' },
    ]
  if (kept === undefined || kept.tenant !== trailer.tenant || kept.checkpoint.size === 0) return []
  const { size, origin } = kept.checkpoint
  if (tree.isForked) return [forkFault(kept.checkpoint)]
  if (tree.keptFits === undefined) return inChain ? [] : [notHeld(kept, { from: tree.from ?? 0, to: tree.size })]
  if (tree.keptFits) return []
  const message = `the first ${size} events of the log ${origin} are not those that the checkpoint signed`
  return [{ code: 'checkpoint-mismatch', message }]
}

/** Explains why a checkpoint of the same log does not apply to leaves `from` up to, but not including, `to`. */
export function notHeld(
  { checkpoint: { size, origin } }: HeldCheckpoint,
  { from, to }: { readonly from: number; readonly to: number },
): Completeness['faults'][number] {
  if (size > to)
    return {
      code: 'log-behind-checkpoint',
      message: `the checkpoint covers ${size} events of the log ${origin}, only ${to} are here: the end was cut off, or this is an older export`,
    }
  const before =
    size < from ? `which all lie before leaf ${from}, where this begins` : 'and the last of them is not here'
  return {
    code: 'completeness-unproven',
    message: `the checkpoint covers the first ${size} events of the log ${origin}, ${before}: hold it against the part that has leaf ${size - 1}`,
  }
}

/** The proof, as a sentence: the tree of all these events is covered by a signature that the reader can check. */
function proofOf({ trailer, tree, kept }: CompletenessInput, by: NoteVerifier | undefined): string | undefined {
  const what = whatIsHere(trailer, tree)
  if (kept?.tenant === trailer.tenant && kept.checkpoint.size === tree.size)
    return `${what}, as your checkpoint of ${kept.checkpoint.origin} covers them`
  if (by === undefined || tree.fits(trailer) !== true) return undefined
  const beyond =
    kept?.tenant === trailer.tenant && tree.keptFits !== undefined
      ? `, of which your checkpoint covers the first ${kept.checkpoint.size}`
      : ''
  return `${what}, signed with ${by.name}+${by.keyId}${beyond}`
}

/** The signature shows that an archive is complete. That it is the recorded one is shown by the store, whose headers name every event. */
function proofOfArchive({ filter, events }: ExportTrailer, by: NoteVerifier | undefined): string | undefined {
  if (by === undefined || !isOfArchive(filter as JsonObject | undefined)) return undefined
  return `all ${events} events of the archive ${String(filter?.archive)}, as ${by.name}+${by.keyId} signed it; that it is the recorded one shows verify of its store, beside it`
}

function whatIsHere({ tenant }: ExportTrailer, { from, size, root }: ExportTree): string {
  if (from === undefined) return `all ${size} events of the log of ${tenant} up to that size, root ${root}`
  if (from === size)
    return `no event: the log of ${tenant} has ${size} leaves, root ${root}, and this part begins behind them`
  return `leaves ${from} to ${size - 1} of the log of ${tenant}, all ${size - from} of them, up to size ${size}, root ${root}`
}

function whyUnproven({ trailer, tree, kept }: CompletenessInput, { by, missing }: Signature): string {
  const { run, tenant, filter } = trailer
  if (run !== null || filter !== undefined) {
    const what = run === null ? `of ${tenant}` : `of run ${run}`
    const word = by === undefined ? missing : `that is the word of ${by.name}+${by.keyId}`
    const held = kept === undefined ? '' : '; a checkpoint is of the whole log, and shows nothing of a part'
    return `nothing proves that the events ${what} are all here: ${word}${held}; a bundle proves it (export --bundle)`
  }
  if (kept !== undefined && kept.tenant === tenant && tree.keptFits !== undefined)
    return `your checkpoint covers the first ${kept.checkpoint.size} of ${tree.size} events; nothing proves that none is missing behind them: ${missing}`
  const todo = 'hold a checkpoint against it (--checkpoint), or give the key of the log (--key)'
  return `nothing proves that no event is missing at the end: ${missing || 'its trailer names no tree'}; ${todo}`
}
