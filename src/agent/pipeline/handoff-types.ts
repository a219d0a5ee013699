/** @module The types of `run.handoff`, `run.rollback` and `run.context`. */
import type { Finding } from '../../../schemas/finding.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { Declaration } from '../../../schemas/place-policy.ts'
import type { RegisterManifest } from '../../../schemas/requests.ts'
import type { HandoffMode, Supersession } from '../../../schemas/values.ts'

export type { Declaration, Finding, HandoffMode, Supersession }

/** The agent, mode and declarations of a handoff. */
export interface HandoffOptions {
  readonly agent: string
  /** Default `replace`: the payload becomes the context. `merge` is RFC 7396; `extend` only adds to the context. */
  readonly mode?: HandoffMode
  /** New members of lists of the resulting context, such as a further constraint, in any mode. */
  readonly add?: object
  /** Established values that may change, each with a reason. */
  readonly supersedes?: readonly Supersession[]
  /** Bookkeeping paths of the agent that may change from now until the end of the run, each with its kind and a reason. */
  readonly moves?: readonly Declaration[]
  /** Charged if the agent recorded no model call since its last handoff. */
  readonly tokens?: number
  /** Registered once per run; the ledger checks the handoff against it. */
  readonly manifest?: Manifest
}

/** An accepted handoff as recorded. */
export interface Envelope {
  /** From 1; never reused in a run. */
  readonly step: number
  readonly agent: string
  readonly mode: HandoffMode
  /** Digest of the event that the handoff builds on. */
  readonly parent: string
  readonly contextDigest: string
  /** Preserved share of the protected established values, 0 to 1; absent if none is protected. */
  readonly confidence?: number
  /** Warnings. */
  readonly findings: readonly Finding[]
}

/** The established context. */
export interface Established {
  /** 0 before the first handoff. */
  readonly step: number
  readonly contextDigest: string
  readonly context: JsonObject
}

/** An accepted change that is still unexplained. */
export interface OpenSuspect {
  /** `3.1`: the first one of step 3. */
  readonly id: string
  /** JSON Pointer into the context; empty for the remaining paths of that handoff. */
  readonly path: string
  /** The agent that handed the change over. */
  readonly agent: string
  /** The values before and after, if they are short. */
  readonly before?: Json
  readonly after?: Json
}

/** The ledger's answer to a handoff. */
export type HandoffResult =
  | { readonly ok: true; readonly envelope: Envelope }
  /** Refused: `restored` is the context that the run was rewound to. */
  | { readonly ok: false; readonly findings: readonly Finding[]; readonly restored: Established }

/** The target and the reason of a rollback of the context. */
export interface RollbackOptions {
  /** Recorded; default: that the run's own code requested it. */
  readonly reason?: string
  /** Default: the accepted step before the current one; repeated rollbacks go further back. */
  readonly toStep?: number
}

/** The result of a rollback of the context. Calls and their effects are not undone. */
export interface Rewound extends Established {
  readonly fromStep: number
  /** Calls claimed since that step. */
  readonly callsSince: readonly string[]
}

/** The permissions and the output rules of an agent, registered with the ledger, which checks the agent's handoffs against them. */
export interface Manifest {
  /** Default: the agent that the manifest is used for. */
  readonly agent?: string
  /** Top-level keys of the context that the agent is shown; default: all. */
  readonly reads?: readonly string[]
  /** Top-level keys that the agent may change; default: all. */
  readonly writes?: readonly string[]
  /** Maximum tokens of the slice and of the handoff. A step reserves them before it starts. */
  readonly maxTokens?: number
  /** Description of the agent's task. */
  readonly task?: string
  /** JSON Schema (2020-12) of the payload. */
  readonly schema?: object
  /** Rules for the payload, in addition to the run's policy; they can only be stricter. */
  readonly policy?: NonNullable<RegisterManifest['policy']>
  /** Bookkeeping paths that may change in every handoff of the agent, each with its kind and a reason, like `moves` of a handoff. */
  readonly moves?: readonly Declaration[]
}
