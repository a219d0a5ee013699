/** @module The digest of a batch's body, computed item by item, because a batch can have megabytes. */
import { createHash } from 'node:crypto'
import type { JsonObject } from '../../schemas/json.ts'
import type { WriteTurns } from '../resources/write-turns.ts'
import { canonicalJson } from '../signing/canonical-json.ts'
import { digestText } from '../signing/digests.ts'

/** Equal to `jsonDigest({ items })`, because the body of a batch has no other members. */
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
