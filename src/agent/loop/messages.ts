/** @module The conversation of an agent with its model: plain messages, whatever the model's own format is. */
import type { Json, JsonObject } from '../../../schemas/json.ts'

/** A call that a model asks for. */
export interface ToolRequest {
  /** The model's own id of the call; it need not be unique. */
  readonly id: string
  readonly name: string
  /** A value, or the JSON text of one, as the model wrote it. */
  readonly arguments: Json
}

/** A turn of the model: calls it asks for, or its answer. */
export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content?: string | null
  /** Absent or empty: this is the answer. */
  readonly toolCalls?: readonly ToolRequest[]
  /** What the turn used, where no wrapped client records it. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number }
}

/** What a call came to, for the model. */
export interface ToolMessage {
  readonly role: 'tool'
  /** `id` of the request that it answers. */
  readonly callId: string
  readonly name: string
  /** The tool's result as text: a string as it is, any other value as JSON. */
  readonly content: string
  /** The call failed, or never ran: the content says why. */
  readonly isError?: true
}

/** One message of a conversation, whatever the format of the model is. */
export type Message = { readonly role: 'system' | 'user'; readonly content: string } | AssistantMessage | ToolMessage

/** A tool as described to a model. */
export interface ToolDescription {
  readonly name: string
  readonly description?: string
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject
}

/** What a model function receives beside the conversation. */
export interface ModelContext {
  /** Aborted with the run, and where nobody reads on. */
  readonly signal: AbortSignal
  /** Somebody reads along: whoever can answers in parts. */
  readonly stream: boolean
}

/** A piece of a turn, as it comes: of its text, or a whole call. */
export type ModelPart =
  | { readonly text: string }
  | { readonly toolCall: ToolRequest }
  | { readonly usage: NonNullable<AssistantMessage['usage']> }

/** A turn: whole, or in parts. */
export type ModelAnswer = AssistantMessage | AsyncIterable<ModelPart>

/** Asks a model: the conversation and the tools in, its next turn out. */
export type ModelFunction = (
  messages: readonly Message[],
  tools: readonly ToolDescription[],
  context: ModelContext,
) => ModelAnswer | Promise<ModelAnswer>

/** Anything that answers a conversation: a function, or an object with a name for the record. */
export type Model = ModelFunction | { readonly name: string; readonly complete: ModelFunction }
