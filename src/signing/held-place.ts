/**
 * @module Records that hold the places of lost events at the end of a stream (LOG-74): a stream whose lost end was acknowledged goes on behind them, and no
 * event gets a revision that a lost one had. Such a record has no seal and is no event: readers treat it as the remains of the lost one.
 */
import { type AppendRecord, HEADER_VERSION, SALT_BYTES } from '../../schemas/header.ts'
import { canonicalJson } from './canonical-json.ts'
import { dataDigest } from './digests.ts'

const TYPE = 'LostPlace'
/** In place of a MAC, so that the record never verifies. */
const NO_MAC = 'A'.repeat(43)

export interface HeldPlace {
  readonly stream: string
  readonly revision: number
  readonly tenant: string
  /** Digest of the header of the lost event. */
  readonly digest: string
}

/** `kid` names a key that every reader of the ledger knows; `time`: RFC 3339, UTC, milliseconds. */
export function heldPlace(
  { stream, revision, tenant, digest }: HeldPlace,
  { id, kid, time }: { readonly id: string; readonly kid: string; readonly time: string },
): AppendRecord {
  const salt = new Uint8Array(SALT_BYTES)
  const data = canonicalJson({ v: 1, lost: digest })
  const header = { v: HEADER_VERSION, id, stream, revision, type: TYPE, time, tenant, actor: 'countersign' }
  const text = canonicalJson({ ...header, dataDigest: dataDigest(salt, data), kid, mac: NO_MAC })
  return { header: text, salt, data, id, type: TYPE, printed: { causation: undefined } }
}

export function isHeldPlace({ header }: Pick<AppendRecord, 'header'>): boolean {
  return header.includes(`"mac":"${NO_MAC}"`) && header.includes(`"type":"${TYPE}"`)
}
