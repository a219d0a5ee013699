/** @module What every answer is made with. */
import type { RecordedEvent } from '../../../projections/projection.ts'
import type { Json } from '../../../schemas/json.ts'
import { canonicalJson } from '../../signing/canonical-json.ts'

/** An event of a request, with its digest. */
export type AnsweredEvent = RecordedEvent & { readonly digest: string }

/** Members in the order in which they are read back: the answer given again is the same to the byte. */
export function inRecordOrder(value: Json | object): Json {
  return JSON.parse(canonicalJson(value as Json)) as Json
}
