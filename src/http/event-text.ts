/** @module Events as answers show them: the texts that were signed, byte for byte, never printed again. */
import type { LedgerEvent } from '../ledger/ledger-event.ts'

/** One line of JSON. Header and data are JCS texts: they hold no line feed. */
export function eventText({ texts, digest, seal, kept }: LedgerEvent): string {
  const sealText = seal === undefined ? '' : `,"seal":"${seal}"`
  const keptText = kept === undefined ? '' : `,"kept":${JSON.stringify(kept)}`
  return `{"header":${texts.header},"salt":"${texts.salt}","data":${texts.data},"digest":"${digest}"${sealText}${keptText}}`
}
