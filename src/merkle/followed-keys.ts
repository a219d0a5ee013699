/**
 * @module The keys that a witness accepts for a log: the configured keys, and their successors by the successions that it received. Pure: the caller stores
 * the successions.
 */
import { type KeySuccession, readSuccession, successorsOf } from './key-succession.ts'
import { type NoteVerifier, noteVerifier } from './note-key.ts'

/** Limit for all logs of a witness, and for one request: any client can make valid successions of its own keys, and each costs two signature checks. */
export const SUCCESSIONS_MAX = 32

/** The keys of each log by the log's name: chains, each from a configured key, oldest first. */
export type KeyChains = ReadonlyMap<string, readonly (readonly NoteVerifier[])[]>

export type Following =
  /** Store these durably, then use their chains. */
  | { readonly status: 200; readonly kept: readonly string[] }
  | {
      readonly status: 400 | 403 | 409
      readonly body: string
      /** Two successors of one key, both signed by that key: the stored succession and the new one. */
      readonly twoSuccessors?: { readonly origin: string; readonly notes: readonly [string, string] }
    }

export function keyChains(verifiers: readonly NoteVerifier[], kept: readonly string[]): KeyChains {
  const chains = new Map<string, (readonly NoteVerifier[])[]>()
  for (const verifier of verifiers)
    chains.set(verifier.name, [...(chains.get(verifier.name) ?? []), successorsOf(verifier, kept)])
  return chains
}

/** `request`: a JSON list of signed succession notes, in any order. Of two successors of one key, the first one received is kept. */
export function judgeSuccessions(
  request: unknown,
  { verifiers, kept }: { readonly verifiers: readonly NoteVerifier[]; readonly kept: readonly string[] },
): Following {
  const isList = Array.isArray(request) && request.length > 0 && request.length <= SUCCESSIONS_MAX
  const posted = isList ? request.flatMap((note: unknown) => (typeof note === 'string' && readNote(note)) || []) : []
  if (!isList || posted.length < request.length)
    return refused(
      400,
      `takes a JSON list of 1 to ${SUCCESSIONS_MAX} successions of a log's key, each signed by both keys`,
    )
  const followed = kept.flatMap((note) => readNote(note) ?? [])
  for (const each of posted) {
    const other = followed.find(
      ({ succession: said }) =>
        said.from.text === each.succession.from.text && said.to.text !== each.succession.to.text,
    )
    if (other === undefined) continue
    const twoSuccessors = { origin: each.succession.origin, notes: [other.note, each.note] } as const
    return { ...refused(409, 'this key has another successor already: neither side can take that back'), twoSuccessors }
  }
  const all = [...new Map([...followed, ...posted].map((each) => [each.note, each])).values()]
  const chains = [
    ...keyChains(
      verifiers,
      all.map(({ note }) => note),
    ).values(),
  ].flat()
  const used = all.filter(({ succession: said }) => chains.some((chain) => leads(chain, said)))
  if (!posted.some((each) => used.some(({ note }) => note === each.note)))
    return refused(403, 'these successions begin at no key of a log that is known here')
  if (used.length > SUCCESSIONS_MAX) return refused(403, `at most ${SUCCESSIONS_MAX} successions are followed`)
  return { status: 200, kept: used.map(({ note }) => note) }
}

function readNote(note: string): { readonly note: string; readonly succession: KeySuccession } | undefined {
  const succession = readSuccession(note)
  return succession && { note, succession }
}

/** Whether the chain contains both keys, one directly after the other. */
export function leads(chain: readonly NoteVerifier[], { from, to }: KeySuccession): boolean {
  return chain.some((each, at) => {
    const next = chain[at + 1]
    const isOf = (verifier: NoteVerifier | undefined, of: NoteVerifier): boolean =>
      verifier !== undefined && noteVerifier(verifier.name, of.key, verifier.type).keyId === verifier.keyId
    return isOf(each, from) && isOf(next, to)
  })
}

function refused<S extends 400 | 403 | 409>(status: S, message: string): { status: S; body: string } {
  return { status, body: `${message}\n` }
}
