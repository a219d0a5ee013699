/** @module What a handoff takes and gives: the types of `run.handoff`, `run.rollback` and `run.context`. */
import type { Finding } from '../../../schemas/finding.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { Declaration } from '../../../schemas/place-policy.ts'
import type { RegisterManifest } from '../../../schemas/requests.ts'
import type { HandoffMode, Supersession } from '../../../schemas/values.ts'

export type { Declaration, Finding, HandoffMode, Supersession }

/** In whose name a payload is handed over, how it meets the context, and what it may change. */
export interface HandoffOptions {
  readonly agent: string
  /** Default `replace`: the payload is the context. `merge` is RFC 7396, `extend` grows what is there. */
  readonly mode?: HandoffMode
  /** More of what the context holds then: members of its lists, such as a constraint beside the others, whatever the mode. */
  readonly add?: object
  /** What may change though it was established, each with its reason. */
  readonly supersedes?: readonly Supersession[]
  /** Places of its own bookkeeping that move from now on, to the end of the run: each with its kind and the reason. */
  readonly moves?: readonly Declaration[]
  /** Charged where the agent recorded no model call since its last handoff. */
  readonly tokens?: number
  /** Registered once a run; the ledger judges the handoff by it. */
  readonly manifest?: Manifest
}

/** An accepted handoff, as it is on record. */
export interface Envelope {
  /** From 1; never used twice in a run. */
  readonly step: number
  readonly agent: string
  readonly mode: HandoffMode
  /** Digest of the event it builds on. */
  readonly parent: string
  readonly contextDigest: string
  /** Share of what was established that is preserved, 0 to 1; absent where none of it is protected. */
  readonly confidence?: number
  /** Warnings. */
  readonly findings: readonly Finding[]
}

/** The context that is established. */
export interface Established {
  /** 0 before the first handoff. */
  readonly step: number
  readonly contextDigest: string
  readonly context: JsonObject
}

/** A change that was accepted, and that nothing explains yet. */
export interface OpenSuspect {
  /** `3.1`: the first one of step 3. */
  readonly id: string
  /** JSON Pointer into the context; empty: further places of that handoff. */
  readonly path: string
  /** Who handed it over. */
  readonly agent: string
  /** The values before and after, where they are short. */
  readonly before?: Json
  readonly after?: Json
}

/** What the ledger said about a handoff. */
export type HandoffResult =
  | { readonly ok: true; readonly envelope: Envelope }
  /** Refused: `restored` is what the run was rewound to. */
  | { readonly ok: false; readonly findings: readonly Finding[]; readonly restored: Established }

/** Where the context is moved back to, and why. */
export interface RollbackOptions {
  /** Stands in the record; default: that the run's own code requested it. */
  readonly reason?: string
  /** Default: the accepted step before the one established now; repeated, it goes further back. */
  readonly toStep?: number
}

/** The context was moved back, and nothing else: calls and what they did stay. */
export interface Rewound extends Established {
  readonly fromStep: number
  /** Calls claimed since that step. */
  readonly callsSince: readonly string[]
}

/** What an agent may see, change and hand over: registered with the ledger, which judges its handoffs by it. */
export interface Manifest {
  /** Default: the agent that the manifest is used for. */
  readonly agent?: string
  /** Top-level keys of the context that the agent is shown; default: all. */
  readonly reads?: readonly string[]
  /** Top-level keys that it may change; default: all. */
  readonly writes?: readonly string[]
  /** Most tokens of the slice it is shown, and of what it hands over. A step reserves them before it begins. */
  readonly maxTokens?: number
  /** What it is for, in words. */
  readonly task?: string
  /** JSON Schema (2020-12) of what it hands over. */
  readonly schema?: object
  /** Rules for what it hands over, on top of the run's policy: they add, and never loosen. */
  readonly policy?: NonNullable<RegisterManifest['policy']>
  /** Places of its own bookkeeping that move in its handoffs, each with its kind and the reason: what it may declare beside a handoff, for all of them. */
  readonly moves?: readonly Declaration[]
}
