/** @module Serializes events in answers: the signed texts byte for byte, never serialized again. */
import type { LedgerEvent } from '../ledger/ledger-event.ts'

/** One line of JSON. Header and data are JCS texts, which contain no line feed. */
export function eventText({ texts, digest, seal, kept }: LedgerEvent): string {
  const sealText = seal === undefined ? '' : `,"seal":"${seal}"`
  const keptText = kept === undefined ? '' : `,"kept":${JSON.stringify(kept)}`
  return `{"header":${texts.header},"salt":"${texts.salt}","data":${texts.data},"digest":"${digest}"${sealText}${keptText}}`
}
