/** @module A turn of the model in parts: put together for the record, and taken apart again as it came. */
import { isJsonObject, type Json } from '../../../schemas/json.ts'
import type { ModelMessage } from './message-fault.ts'
import type { ModelPart } from './messages.ts'

/** The turn of these parts; `parts`: the lengths of its texts, in UTF-16 code units. What is no part stands where the check of the message finds it. */
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

/** The texts of a turn as they came; one that did not come in parts is one. */
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
