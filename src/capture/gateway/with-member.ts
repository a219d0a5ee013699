/** @module Sets one member of a JSON object in its text and leaves all other bytes unchanged. Pure. */
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../../schemas/json.ts'

/** `text` is the JSON of `object`, accepted by the strict parser, so no key is duplicated. If the member is already an object, its other members are kept. */
export function withMember(text: string, object: JsonObject, member: string, value: JsonObject): string {
  const place = placeOf(text, member)
  const was: Json = object[member] ?? null
  if (place !== undefined) {
    const now = { ...(isJsonObject(was) ? was : {}), ...value }
    return text.slice(0, place.from) + JSON.stringify(now) + text.slice(place.to)
  }
  const start = text.indexOf('{') + 1
  const isEmpty = Object.keys(object).length === 0
  return `${text.slice(0, start)}${JSON.stringify(member)}:${JSON.stringify(value)}${isEmpty ? '' : ','}${text.slice(start)}`
}

/** The position of the value of a member of the outermost object. */
function placeOf(text: string, member: string): { readonly from: number; readonly to: number } | undefined {
  const tokens = /"(?:[^"\\]+|\\.)*"|[[\]{}:,]|[^\s"[\]{}:,]+/gs
  let depth = 0
  let name: string | undefined
  let from = 0
  let last = 0
  for (let token = tokens.exec(text); token !== null; token = tokens.exec(text)) {
    const [word] = token
    const isOuter = depth === 1
    if (isOuter && word === ':' && from === 0) from = tokens.lastIndex
    else if (isOuter && (word === ',' || word === '}')) {
      if (name === member) return { from, to: last }
      name = undefined
      from = 0
    } else if (isOuter && name === undefined) name = parseJson(word) as string
    if (word === '{' || word === '[') depth += 1
    else if (word === '}' || word === ']') depth -= 1
    last = tokens.lastIndex
  }
  return undefined
}
