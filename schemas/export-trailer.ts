/**
 * @module The trailer of an export: its content, counted and digested, signed with the key of the tenant's log. Version 1, of the first
 * release, has no signature, so anyone who can write such a file can recompute it.
 */
import { z } from 'zod'
import type { JsonObject } from './json.ts'
import { Losses } from './loss-schema.ts'
import { Digest } from './names.ts'
import { JsonRecord } from './values.ts'

/** DSSE payload type; it keeps other signatures of the log's key from being valid for a trailer, and those of trailers from being valid for anything else. */
export const TRAILER_PAYLOAD_TYPE = 'application/vnd.countersign.export-trailer+json'

const TrailerSignature = z.strictObject({
  /** `<name of the log>+<8 hex digits>`, the form in which signed notes name a key. */
  key: z.string().max(1_024),
  type: z.literal(TRAILER_PAYLOAD_TYPE),
  /** Base64 of an Ed25519 signature over the DSSE encoding of `signedTrailerText`. */
  sig: z.string().regex(/^[A-Za-z0-9+/]{86}==$/),
})

const said = {
  ledgerId: z.string(),
  tenant: z.string(),
  /** Null if the export holds more than one run. */
  run: z.string().nullable(),
  /** The query that selected the events; absent if the export holds all events of the run or the tenant. */
  filter: JsonRecord.optional(),
  events: z.int().min(0),
  /** Over all bytes of the preceding lines, including their line feeds. */
  digest: Digest,
  /** Id of the tenant's last event that the export takes into account; null if its log is empty, stopped or not kept. A store position in the first release. */
  asOf: z.string().nullable(),
  /** Number of leaves of the tenant's log up to that event, and their root; null if no log is kept. Absent in the first exports. */
  treeSize: z.int().min(0).nullable().optional(),
  root: Digest.nullable().optional(),
  /** For a part of the log: index of its first leaf, root of the tree of the preceding leaves, and `treeSize` again, where the next part begins. */
  from: z.int().min(0).optional(),
  fromRoot: Digest.optional(),
  to: z.int().min(0).optional(),
  /** Events of the export that are lost or cannot be proven, so that the export is incomplete. At most twenty places. */
  losses: Losses.optional(),
}

export const ExportTrailer = z.discriminatedUnion('v', [
  z.strictObject({ v: z.literal(1), ...said }),
  z.strictObject({ v: z.literal(2), ...said, losses: z.undefined().optional(), signature: TrailerSignature }),
  /** For an export with losses. A new version keeps older readers, which do not know losses, from taking the export as complete. */
  z.strictObject({ v: z.literal(3), ...said, losses: Losses, signature: TrailerSignature }),
])

/** The first line of a part of the log in JSONL: the preceding leaves, as the hashes of their perfect subtrees, widest first. */
export const PartHead = z.strictObject({ from: z.int().min(0), root: Digest, edge: z.array(Digest).max(64) })

export type PartHead = z.infer<typeof PartHead>
export type ExportTrailer = z.infer<typeof ExportTrailer>
export type TrailerFacts = Omit<Extract<ExportTrailer, { v: 1 }>, 'v'>

/** The signed text: JSON without spaces, members in this order. */
export function signedTrailerText(v: ExportTrailer['v'], facts: TrailerFacts): string {
  return JSON.stringify(inOrder(v, facts))
}

/** The trailer with its members in a fixed order, so that the same export ends in the same bytes. */
export function trailerInOrder(trailer: ExportTrailer): JsonObject {
  const ordered = inOrder(trailer.v, trailer)
  if (trailer.v === 1) return ordered
  const { key, type, sig } = trailer.signature
  return { ...ordered, signature: { key, type, sig } }
}

/** `JSON.stringify` omits absent members. */
function inOrder(v: number, facts: TrailerFacts): JsonObject {
  const { ledgerId, tenant, run, filter, events, digest, asOf, treeSize, root, from, fromRoot, to, losses } = facts
  return {
    ...{ v, ledgerId, tenant, run, filter, events, digest, asOf, treeSize, root, from, fromRoot, to, losses },
  } as unknown as JsonObject
}
