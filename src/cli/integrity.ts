/** @module `countersign integrity`: lists the events that do not verify, and the progress of the scrub. */
import { isJsonObject, type JsonObject } from '../../schemas/json.ts'
import { openApi } from './api.ts'
import type { Arguments } from './arguments.ts'
import { EXIT } from './failure.ts'
import { printObject } from './print-object.ts'

/**
 * Exits with 1 if an event is recorded as broken, was not found intact since, and its loss is not acknowledged; otherwise with 3 if anything else is lost.
 */
export async function integrity(inputs: Arguments): Promise<number> {
  await using api = await openApi(inputs)
  const state = await api.get('/v1/integrity')
  const { items, acknowledged, scrub, losses } = state
  const faults = Array.isArray(items) ? items.filter((each) => isJsonObject(each)) : []
  const broken = faults.filter((fault) => fault.pastSince === undefined && fault.acknowledged !== true).length
  const shown: JsonObject = {
    broken,
    ...(isJsonObject(scrub ?? null) && { scrub }),
    faults,
    ...(acknowledged !== undefined && { acknowledged }),
    ...(losses !== undefined && { losses }),
  }
  printObject(inputs.has('json') ? state : shown, inputs.has('json'))
  return broken === 0 ? api.exitCode() : EXIT.failed
}
