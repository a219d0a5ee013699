/** @module The digest of a batch's body, made item by item: a batch can have megabytes. */
import { createHash } from 'node:crypto'
import type { JsonObject } from '../../schemas/json.ts'
import type { WriteTurns } from '../resources/write-turns.ts'
import { canonicalJson } from '../signing/canonical-json.ts'
import { digestText } from '../signing/digests.ts'

/** What `jsonDigest({ items })` gives: a batch's body holds nothing else. */
export async function batchDigest(
  items: readonly JsonObject[],
  { turns, tenant }: { readonly turns: WriteTurns; readonly tenant: string },
): Promise<string> {
  const hash = createHash('sha256').update('{"items":[')
  for (const [index, item] of items.entries()) {
    const text = canonicalJson(item)
    hash.update(index === 0 ? text : `,${text}`)
    const turn = turns.pass(text.length, tenant)
    if (turn !== undefined) await turn
  }
  return digestText(hash.update(']}').digest())
}
