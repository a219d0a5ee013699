/** @module A turn of the model as a call on record: what it was newly told, and what it said. Served on resume and replay. */
import { z } from 'zod'
import type { Json } from '../../../schemas/json.ts'
import { jsonDigest } from '../../signing/digests.ts'
import { callTool } from '../call.ts'
import { AgentError } from '../errors.ts'
import { type Place, runAt } from '../place.ts'
import { recordable } from '../recordable.ts'
import { toolSpec } from '../tool-spec.ts'
import type { DescribedTool } from './describe-tools.ts'
import type { AssistantMessage, Message, Model, ModelFunction } from './messages.ts'

export interface NamedModel {
  readonly name: string
  readonly complete: ModelFunction
}

export function namedModel(model: Model): NamedModel {
  if (typeof model === 'function') return { name: model.name === '' ? 'model' : model.name, complete: model }
  return { name: model.name, complete: (...asked) => model.complete(...asked) }
}

/** The conversation, and how much of it the record has. */
export interface History {
  readonly messages: Message[]
  /** Messages that earlier turns have recorded. */
  told: number
  /** Of all that was recorded, chained: a turn is the same turn only after the same conversation. */
  digest: Json
}

const Said = z.object({
  content: z.string().nullish(),
  toolCalls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.json() })).optional(),
})

/** Puts what the model said at the end of the history. Throws `invalid-model-message`, and what the model threw. */
export async function askModel(
  place: Place,
  { model, tools }: { readonly model: NamedModel; readonly tools: ReadonlyMap<string, DescribedTool> },
  history: History,
): Promise<AssistantMessage> {
  const told = kept(history.messages.slice(history.told))
  const after = history.digest
  const descriptions = [...tools.values()].map(({ description }) => description)
  const spec = toolSpec(
    {
      name: `model:${model.name}`,
      input: undefined,
      takes: 'value',
      execute: async (_, { signal }) =>
        said(model.name, await model.complete(history.messages, descriptions, { signal })),
    },
    // Asking again costs money and changes nothing.
    { compensate: 'not-needed', onUnknown: 'retry' },
  )
  const args = { messages: told, after, tools: [...tools.keys()] }
  const message = (await runAt(place, () => callTool(place, spec, args))) as unknown as AssistantMessage
  history.digest = jsonDigest({ after, told, said: message as unknown as Json })
  history.messages.push(message)
  history.told = history.messages.length
  return message
}

function said(name: string, answer: unknown): Json {
  const message = Said.safeParse(answer)
  if (!message.success) {
    const at = message.error.issues[0]
    const place = `/${at?.path.join('/') ?? ''}`
    throw new AgentError('invalid-model-message', `what ${name} said is no message at ${place}: ${at?.message}`, {
      place,
    })
  }
  const { content, toolCalls = [] } = message.data
  return {
    role: 'assistant',
    content: content ?? null,
    ...(toolCalls.length > 0 && { toolCalls: toolCalls as unknown as Json }),
  }
}

function kept(messages: readonly Message[]): Json {
  const recorded = recordable(messages)
  if (recorded.ok) return recorded.value
  throw new AgentError('not-recordable', `the conversation cannot be recorded: ${recorded.reason}`)
}
