/** @module A bundle under a key that another one follows: it counts for the time before, as far as anything shows that it is of then. */
import type { Checkpoint } from './checkpoint.ts'
import type { BundlePredicate } from './predicate.ts'
import type { About, Fail, Found } from './verdict.ts'
import type { LogKey, VerifierKey } from './verifier-keys.ts'

interface Succeeded {
  readonly key: LogKey
  readonly manifest: BundlePredicate
  readonly checkpoint: Checkpoint
  readonly kept: Checkpoint | undefined
  /** Time of the event that is dated last. */
  readonly latest: string
}

const idOf = ({ name, id }: VerifierKey): string => `${name}+${id}`

/** A thief of the old key can still sign with it, under any date: no date of the bundle shows that it is of before. */
export function checkSucceededKey(
  { key, manifest, checkpoint, kept, latest }: Succeeded,
  found: Found,
  fail: Fail,
): void {
  const [followed] = key.later
  if (followed === undefined) return
  const { by, time } = followed
  const dated = latest > manifest.time ? latest : manifest.time
  if (time !== undefined && dated > time)
    fail(
      'UNVERIFIABLE',
      'succeeded-key',
      `the bundle is dated ${dated} and signed with ${idOf(key)}, which ${idOf(by)} follows since ${time}: ask for one under the key in use now`,
    )
  const isBefore = ({ seconds }: Found['witnesses'][number]) => time !== undefined && seconds * 1000 <= Date.parse(time)
  const shownBy = [
    ...(kept?.size === checkpoint.size ? ['the checkpoint that was kept'] : []),
    ...found.witnesses.filter(isBefore).map(({ name }) => `the witness ${name}`),
  ]
  ;(found.about as About).succession = { by: idOf(by), ...(time !== undefined && { time }), shownBy }
}
