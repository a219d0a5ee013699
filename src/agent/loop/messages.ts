/** @module The conversation of an agent with its model, as messages that are independent of the model's own format. */
import type { Json, JsonObject } from '../../../schemas/json.ts'

/** A call that a model requests. */
export interface ToolRequest {
  /** The model's own id of the call; it need not be unique. */
  readonly id: string
  readonly name: string
  /** A value, or its JSON text as the model wrote it. */
  readonly arguments: Json
}

/** A turn of the model: the calls it requests, or its answer. */
export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content?: string | null
  /** Absent or empty: the message is the answer. */
  readonly toolCalls?: readonly ToolRequest[]
  /** Usage of the turn, if no wrapped client records it. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number }
}

/** The result of a call, as returned to the model. */
export interface ToolMessage {
  readonly role: 'tool'
  /** `id` of the request that it answers. */
  readonly callId: string
  readonly name: string
  /** The tool's result as text: a string unchanged, any other value as JSON. */
  readonly content: string
  /** The call failed or was not run; the content gives the reason. */
  readonly isError?: true
}

/** One message of a conversation, independent of the model's format. */
export type Message = { readonly role: 'system' | 'user'; readonly content: string } | AssistantMessage | ToolMessage

/** A tool as described to a model. */
export interface ToolDescription {
  readonly name: string
  readonly description?: string
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject
}

/** Arguments of a model function in addition to the conversation and the tools. */
export interface ModelContext {
  /** Aborted when the run ends, or when the reader stops. */
  readonly signal: AbortSignal
  /** The answer is read as it arrives: a model that supports streaming answers in parts. */
  readonly stream: boolean
}

/** A part of a turn: a piece of its text, a complete call, or its usage. */
export type ModelPart =
  | { readonly text: string }
  | { readonly toolCall: ToolRequest }
  | { readonly usage: NonNullable<AssistantMessage['usage']> }

/** A turn: whole, or in parts. */
export type ModelAnswer = AssistantMessage | AsyncIterable<ModelPart>

/** Requests the next turn from a model, given the conversation and the tools. */
export type ModelFunction = (
  messages: readonly Message[],
  tools: readonly ToolDescription[],
  context: ModelContext,
) => ModelAnswer | Promise<ModelAnswer>

/** A model that continues a conversation: a function, or an object with a name for the record. */
export type Model = ModelFunction | { readonly name: string; readonly complete: ModelFunction }
