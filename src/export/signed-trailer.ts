/** @module The trailer of an export, signed with the key of the tenant's log, so that no other party can truncate the export and adjust the count. */
import {
  type ExportTrailer,
  signedTrailerText,
  TRAILER_PAYLOAD_TYPE,
  type TrailerFacts,
} from '../../schemas/export-trailer.ts'
import type { Caller, Ledger } from '../ledger/ledger.ts'
import type { DsseEnvelope } from '../signing/dsse.ts'

/** An id for formats that require one: the digest, so that the same export has the same id. Empty parts share one digest, so a part adds its range. */
export function trailerId({ digest, from, to }: ExportTrailer): string {
  const id = `export-${digest.slice('sha256:'.length)}`
  return from === undefined ? id : `${id}-${from}-${to}`
}

/** Unsigned, and so of version 1, if the ledger keeps no log. The same facts yield the same bytes: Ed25519 is deterministic. */
export function signedTrailer(
  { exports }: Pick<Ledger, 'exports'>,
  caller: Caller,
  facts: TrailerFacts,
): ExportTrailer {
  return trailerUnder(exports.sign(caller, TRAILER_PAYLOAD_TYPE, trailerPayload(facts)), facts)
}

/** The signed payload. */
export function trailerPayload(facts: TrailerFacts): Uint8Array {
  return Buffer.from(signedTrailerText(versionOf(facts), facts))
}

export function trailerUnder(envelope: DsseEnvelope | undefined, facts: TrailerFacts): ExportTrailer {
  const signed = envelope?.signatures[0]
  if (signed === undefined) return { v: 1, ...facts }
  const signature = { key: signed.keyid, type: TRAILER_PAYLOAD_TYPE, sig: signed.sig } as const
  const { losses, ...whole } = facts
  return losses === undefined ? { v: 2, ...whole, signature } : { v: 3, ...whole, losses, signature }
}

const versionOf = ({ losses }: TrailerFacts): 2 | 3 => (losses === undefined ? 2 : 3)
