/** @module Model turns in parts: joined into one message for the record, and split again into the original pieces. */
import { isJsonObject, type Json } from '../../../schemas/json.ts'
import type { ModelMessage } from './message-fault.ts'
import type { ModelPart } from './messages.ts'

/** Joins parts into a message; `parts` holds the lengths of its texts, in UTF-16 code units. An invalid part is placed where the message check reports it. */
export function messageOf(parts: readonly unknown[]): ModelMessage & { readonly parts: readonly number[] } {
  const all = parts as readonly Partial<Record<'text' | 'toolCall' | 'usage', unknown>>[]
  const texts = all.flatMap((part) => ('text' in part ? [part.text] : []))
  const isText = texts.every((text) => typeof text === 'string')
  const usage = all.findLast((part) => 'usage' in part)?.usage as ModelMessage['usage']
  return {
    content: isText ? texts.join('') || null : (texts as never),
    toolCalls: all.flatMap((part) => ('toolCall' in part ? [part.toolCall] : [])) as NonNullable<
      ModelMessage['toolCalls']
    >,
    ...(usage !== undefined && { usage }),
    parts: isText ? texts.map((text) => (text as string).length) : [],
  }
}

export function textOf(part: unknown): string | undefined {
  const { text } = part as Partial<Extract<ModelPart, { text: string }>>
  return typeof text === 'string' ? text : undefined
}

/** Splits the text of a turn into the pieces that arrived; a text that did not arrive in parts is one piece. */
export function textsOf(message: Json): readonly string[] {
  if (!isJsonObject(message) || typeof message.content !== 'string') return []
  const { content, parts } = message
  if (!Array.isArray(parts)) return content === '' ? [] : [content]
  let from = 0
  return parts.map((length) => {
    const text = content.slice(from, from + Number(length))
    from += Number(length)
    return text
  })
}
