/** @module `unevaluatedProperties` and `unevaluatedItems`: checks on members that no other keyword of the schema has evaluated. */
import { isJsonObject, type Json } from '../../../schemas/json.ts'
import { checkMember, fault, keysOf, SEEN_STEPS } from './evaluation.ts'
import { type Checks, keywordOf, readSchema, type SchemaPlace } from './schema-compilation.ts'
import { spend } from './work.ts'

export function unevaluatedKeywords(place: SchemaPlace, { last }: Checks): void {
  addProperties(place, last)
  addItems(place, last)
}

function addProperties(place: SchemaPlace, last: Checks['last']): void {
  const check = readSchema(place, 'unevaluatedProperties')
  const refused = keywordOf(place, 'unevaluatedProperties') === false
  if (check === undefined) return
  last.push((value, run, seen) => {
    if (!isJsonObject(value)) return true
    const keys = keysOf(value, run)
    spend(run.work, SEEN_STEPS * keys.length)
    let holds = true
    for (const key of keys) {
      if (seen.names.has(key)) continue
      seen.names.add(key)
      if (refused) holds = fault(run, 'must NOT have unevaluated properties', key)
      else holds = checkMember(check, { at: key, value: value[key] as Json }, run) && holds
    }
    return holds
  })
}

function addItems(place: SchemaPlace, last: Checks['last']): void {
  const check = readSchema(place, 'unevaluatedItems')
  const refused = keywordOf(place, 'unevaluatedItems') === false
  if (check === undefined) return
  last.push((value, run, seen) => {
    if (!Array.isArray(value)) return true
    spend(run.work, SEEN_STEPS * value.length)
    let holds = true
    for (const [at, item] of value.entries()) {
      if (seen.places.has(at)) continue
      seen.places.add(at)
      if (refused) holds = fault(run, 'must NOT have unevaluated items', at)
      else holds = checkMember(check, { at, value: item as Json }, run) && holds
    }
    return holds
  })
}
