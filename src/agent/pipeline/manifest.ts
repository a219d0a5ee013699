/** @module What an agent may see, change and hand over: registered with the ledger, which judges handoffs by it. */
import type { JsonObject } from '../../../schemas/json.ts'
import type { RegisterManifest } from '../../../schemas/requests.ts'
import { jsonDigest } from '../../signing/digests.ts'
import { AgentError } from '../errors.ts'

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
}

/** As it is registered. Throws `invalid-manifest`. */
export function manifestRequest(agent: string, manifest: Manifest): { body: RegisterManifest; hash: string } {
  const { agent: named = agent, reads, writes, maxTokens, task, schema } = manifest
  if (named !== agent) {
    throw new AgentError('invalid-manifest', `the manifest is of ${named}, not of ${agent}`, { agent, manifest: named })
  }
  const bounds = {
    ...(reads !== undefined && { reads: [...reads] }),
    ...(writes !== undefined && { writes: [...writes] }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(task !== undefined && { task }),
    ...(schema !== undefined && { schema: schema as JsonObject }),
  }
  return { body: { agent, ...bounds }, hash: jsonDigest(bounds) }
}
