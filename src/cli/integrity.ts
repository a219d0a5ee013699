/** @module `countersign integrity`: which events do not verify, and what the scrub has read. */
import { isJsonObject, type JsonObject } from '../../schemas/json.ts'
import { openApi } from './api.ts'
import type { Arguments } from './arguments.ts'
import { EXIT } from './failure.ts'
import { printObject } from './print-object.ts'

/** Ends with 1 where an event is on record as broken, and was not found whole again since; else with 3 where something else is lost. */
export async function integrity(inputs: Arguments): Promise<number> {
  await using api = await openApi(inputs)
  const state = await api.get('/v1/integrity')
  const { items, scrub, losses } = state
  const faults = Array.isArray(items) ? items.filter((each) => isJsonObject(each)) : []
  const broken = faults.filter(({ pastSince }) => pastSince === undefined).length
  const shown: JsonObject = {
    broken,
    ...(isJsonObject(scrub ?? null) && { scrub }),
    faults,
    ...(losses !== undefined && { losses }),
  }
  printObject(inputs.has('json') ? state : shown, inputs.has('json'))
  return broken === 0 ? api.exitCode() : EXIT.failed
}
