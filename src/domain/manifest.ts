/** @module The decision that registers an agent's manifest: the keys it may read and change, and the schema of its payloads. */
import { type RunState, safeKey } from '../../projections/run-state.ts'
import type { RegisterManifest } from '../../schemas/requests.ts'
import type { ManifestBody } from '../../schemas/values.ts'
import { append, type Decision, type Env, mustBeOpen, refuse } from './decision.ts'
import { compileSchema } from './json-schema/compile-schema.ts'
import { type Refusal, refusal } from './refusal.ts'
import { manifestMoveFault } from './validator/declared/declarations.ts'
import { placesOfSchema, type SchemaPlaces } from './validator/declared/schema-places.ts'
import { withManifestPolicy } from './validator/policy/with-manifest.ts'

/** Maximum size of all manifests of a run together, in characters of JSON: the run's state holds them, and one answer lists them. */
export const MANIFESTS_MAX_CHARS = 4 * 1024 * 1024

export function decideManifest(state: RunState, body: RegisterManifest, env: Env): Decision {
  const closed = mustBeOpen(state)
  if (closed !== undefined) return refuse(closed)
  const { agent, ...manifest } = body
  if (manifest.schema !== undefined) {
    const compiled = compileSchema(manifest.schema)
    if (!compiled.ok) return refuse(refusal('manifest-invalid', compiled.message, { pointer: '/schema' }))
  }
  const unusable = movesFault(state, body)
  if (unusable !== undefined) return refuse(unusable)
  const hash = env.digestOf(manifest)
  const before = state.manifests[safeKey(agent)]
  if (before?.hash === hash) return { kind: 'as-is' }
  const chars = charsOf(manifest) - (before === undefined ? 0 : charsOf(before.manifest))
  if (chars > 0 && chars + manifestChars(state) > MANIFESTS_MAX_CHARS) {
    const message = `the manifests of a run have at most ${MANIFESTS_MAX_CHARS} characters of JSON together: state what agents share in the run's policy, or start another run`
    return refuse(refusal('manifest-invalid', message, { evidence: { limit: MANIFESTS_MAX_CHARS } }))
  }
  return append({ type: 'ManifestRegistered', data: { v: 1, agent, manifest, hash } })
}

/** The refusal of a declaration of moving places, in `moves` or in the schema, that no agent may make; found at registration, before a run relies on it. */
function movesFault({ policy }: RunState, { agent, moves = [], ...manifest }: RegisterManifest): Refusal | undefined {
  const { fault, ...places }: SchemaPlaces =
    manifest.schema === undefined ? { moves: [] } : placesOfSchema(manifest.schema)
  if (fault !== undefined) return refusal('manifest-invalid', fault.message, { pointer: `/schema${fault.pointer}` })
  const declared = withManifestPolicy(policy, manifest.policy)
  const all = [
    ...moves.map((move, i) => [`/moves/${i}`, move] as const),
    ...places.moves.map((move) => ['/schema', move] as const),
  ]
  for (const [pointer, move] of all) {
    const wrong = manifestMoveFault(move, agent, declared)
    if (wrong !== undefined) return refusal('manifest-invalid', `${move.path} as ${move.as}: ${wrong}`, { pointer })
  }
  return undefined
}

const measured = new WeakMap<ManifestBody, number>()

/** The size is cached per manifest, because a run may have thousands. */
function charsOf(manifest: ManifestBody): number {
  const chars = measured.get(manifest) ?? JSON.stringify(manifest).length
  measured.set(manifest, chars)
  return chars
}

function manifestChars(state: RunState): number {
  return Object.values(state.manifests).reduce((sum, { manifest }) => sum + charsOf(manifest), 0)
}
