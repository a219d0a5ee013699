/** @module The types of `run.step`. */
import type { JsonObject } from '../../../schemas/json.ts'
import type { Backoff } from '../calls/backoff.ts'
import type {
  Declaration,
  Envelope,
  Finding,
  HandoffMode,
  Manifest,
  OpenSuspect,
  Supersession,
} from './handoff-types.ts'
import type { SliceReport, Slicer } from './slice.ts'

/** The context that an agent receives, in addition to its slice. */
export interface StepContext {
  readonly agent: string
  readonly task: string | undefined
  /** From 1; higher after a refused handoff. */
  readonly attempt: number
  /** Findings of the refused previous handoff; empty at first. */
  readonly findings: readonly Finding[]
  readonly shown: SliceReport
  /** Open suspects in the slice: of the oldest 20 of the run, those whose keys are shown. */
  readonly suspects: readonly OpenSuspect[]
  readonly signal: AbortSignal
}

/**
 * An agent that is a function. An object that it returns is the payload; a string becomes `{text}`. Two members of the object are not part of the payload:
 * `$supersedes: [{path, reason}]` explains changes of established values, and `$add: {...}` holds new members of lists, such as a further constraint.
 */
export type AgentFunction = (slice: JsonObject, context: StepContext) => unknown

/** A LangChain Runnable or graph. It gets the slice (with `findings` on a repair), and the context as `metadata` of its config. */
export interface InvokableAgent {
  invoke(input: never, config?: never): unknown
}

/** An AI SDK agent. It gets a prompt of task, slice and findings; its `output` is used if it is an object, otherwise its `text`. */
export interface GeneratingAgent {
  generate(options: never): unknown
}

/** An agent of any kind: a function, a LangChain Runnable or graph, or an AI SDK agent. */
export type StepAgent = AgentFunction | InvokableAgent | GeneratingAgent

/** The slice, the handoff and the retries of a step. Times are in milliseconds, slices are measured in tokens. */
export interface StepOptions {
  /** Number of further attempts, with the findings, after a refused handoff; default 0. */
  readonly repairs?: number
  readonly manifest?: Manifest
  /** Members of the manifest, as a shorthand. */
  readonly task?: string
  readonly schema?: object
  /** Default: latest changed keys first. */
  readonly slice?: Slicer
  /** Maximum tokens of the slice; default: `maxTokens` of the manifest. */
  readonly sliceTokens?: number
  /** Default `extend`. */
  readonly mode?: HandoffMode
  /** Established values that may change: declared in advance, or derived from the payload. An agent declares them itself with `$supersedes`. */
  readonly supersedes?: readonly Supersession[] | ((payload: JsonObject) => readonly Supersession[])
  /** Bookkeeping paths of the agent that may change from now on. An agent declares them itself with `$moves`. */
  readonly moves?: readonly Declaration[]
  /** Builds the input of `invoke` or `generate`. */
  readonly input?: (slice: JsonObject, context: StepContext) => unknown
  /** Extracts the payload from the agent's result. */
  readonly output?: (result: unknown) => unknown
  /** Number of retries if the agent throws; default 0. */
  readonly retries?: number
  readonly backoff?: Backoff
  /** Timeout of one attempt in milliseconds; default: none. */
  readonly timeout?: number
}

/** The handoff of a step, and the slice that the agent was shown. */
export interface StepResult {
  readonly envelope: Envelope
  /** The payload that was handed over. */
  readonly payload: JsonObject
  /** Tokens of the payload, as counted by `counter`. */
  readonly tokens: number
  readonly counter: string
  /** Report on the slice that the agent was shown. */
  readonly shown: SliceReport
  /** Number of times that the agent was called. */
  readonly attempts: number
}
