/**
 * @module What was said in turns: a log of messages. It grows at its end, and its head gives way to a summary, which makes it shorter; one message among others
 * that stay is not rewritten.
 */
import { isEqual, isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'

interface Rewritten {
  readonly index: number
  readonly before: JsonObject
  readonly after: JsonObject
}

/** Messages of `{role, content}`, or of `{type, content}`. */
export function isConversation(value: Json | undefined): value is JsonObject[] {
  return Array.isArray(value) && value.length > 0 && value.every((each) => isJsonObject(each) && isMessage(each))
}

/** Messages at a place of before, where others are as they were. One that only grew is still being written. */
export function rewrittenIn(before: readonly JsonObject[], after: Json | undefined): readonly Rewritten[] {
  if (!isConversation(after) || after.length < before.length) return []
  const pairs = before.map((was, index) => ({ index, before: was, after: after[index] as JsonObject }))
  const isKept = (pair: Rewritten): boolean => isEqual(pair.before, pair.after)
  if (!pairs.some((pair) => isKept(pair) && !SETTING.has(speakerOf(pair.before)))) return []
  return pairs.filter(
    (pair) =>
      !isKept(pair) && speakerOf(pair.before) === speakerOf(pair.after) && !isContinued(pair.before, pair.after),
  )
}

/** What a program says anew at each turn: that it is kept says nothing. */
const SETTING: ReadonlySet<Json | undefined> = new Set(['system', 'developer'])

function isMessage(value: JsonObject): boolean {
  return Object.hasOwn(value, 'content') && (Object.hasOwn(value, 'role') || Object.hasOwn(value, 'type'))
}

function speakerOf(message: JsonObject): Json | undefined {
  return message.role ?? message.type
}

function isContinued({ content: was }: JsonObject, { content: now }: JsonObject): boolean {
  if (isEqual(was as Json, now as Json)) return true
  return typeof was === 'string' && typeof now === 'string' && now.startsWith(was)
}
