/** @module What `run.step` takes and gives. */
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

/** What an agent receives beside its slice. */
export interface StepContext {
  readonly agent: string
  readonly task: string | undefined
  /** From 1; above it this is a repeated try. */
  readonly attempt: number
  /** Why the handoff before this one was refused; empty at first. */
  readonly findings: readonly Finding[]
  readonly shown: SliceReport
  /** What in the slice is suspect: the oldest 20 open suspects of the run, without those of keys that are not shown. */
  readonly suspects: readonly OpenSuspect[]
  readonly signal: AbortSignal
}

/**
 * An agent that is a function: an object is what it hands over, a string becomes `{text}`. Two members of an object are no part of it: `$supersedes:
 * [{path, reason}]` says why what was established changes, `$add: {...}` what is more of it, such as a constraint beside the others.
 */
export type AgentFunction = (slice: JsonObject, context: StepContext) => unknown

/** A LangChain Runnable or graph. It gets the slice (on a repeat with `findings`), and the rest as `metadata` of its config. */
export interface InvokableAgent {
  invoke(input: never, config?: never): unknown
}

/** An AI SDK agent. It gets a prompt of task, slice and findings; its `output` is taken, or else its `text`. */
export interface GeneratingAgent {
  generate(options: never): unknown
}

/** Whatever can take a turn: a function, a LangChain Runnable or graph, an AI SDK agent. */
export type StepAgent = AgentFunction | InvokableAgent | GeneratingAgent

/** What an agent is shown, how its answer is handed over, and how often it may try. Times are milliseconds, slices are measured in tokens. */
export interface StepOptions {
  /** How many further tries the agent gets, with the findings, where its handoff is refused; default 0. */
  readonly repairs?: number
  readonly manifest?: Manifest
  /** Members of the manifest, for short. */
  readonly task?: string
  readonly schema?: object
  /** Default: latest changed keys first. */
  readonly slice?: Slicer
  /** Most tokens of the slice; default: `maxTokens` of the manifest. */
  readonly sliceTokens?: number
  /** Default `extend`. */
  readonly mode?: HandoffMode
  /** What may change though it was established: declared beforehand, or read from what the agent returned. An agent says it itself by `$supersedes`. */
  readonly supersedes?: readonly Supersession[] | ((payload: JsonObject) => readonly Supersession[])
  /** Places of the agent's own bookkeeping that move from now on. An agent says it itself by `$moves`. */
  readonly moves?: readonly Declaration[]
  /** Makes the input of `invoke` or `generate`. */
  readonly input?: (slice: JsonObject, context: StepContext) => unknown
  /** Makes the payload of what the agent gave. */
  readonly output?: (result: unknown) => unknown
  /** Tries after the first where the agent throws; default 0. */
  readonly retries?: number
  readonly backoff?: Backoff
  /** Milliseconds for one try; default: none. */
  readonly timeout?: number
}

/** What a step handed over, and what the agent was shown for it. */
export interface StepResult {
  readonly envelope: Envelope
  /** What was handed over. */
  readonly payload: JsonObject
  /** Of the payload, as counted by `counter`. */
  readonly tokens: number
  readonly counter: string
  /** What the agent was shown. */
  readonly shown: SliceReport
  /** How often it was called. */
  readonly attempts: number
}
