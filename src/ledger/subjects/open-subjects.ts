/** @module What a ledger says and does about subjects; without a place for their keys it says that. */
import { ofWholeTenant } from '../../access/check-access.ts'
import { type Refusal, refusal } from '../../domain/refusal.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Caller } from '../ledger.ts'
import type { Effects } from '../ports.ts'
import { Erasures, type ErasuresDeps } from './erasures.ts'
import { replayErasures } from './replay-erasures.ts'
import type { SubjectKeys } from './subject-keys.ts'
import type { Answered, Subjects } from './subjects.ts'

export interface OpenSubjects extends AsyncDisposable {
  readonly subjects: Subjects
}

interface SubjectsDeps extends Omit<ErasuresDeps, 'keys' | 'newId'> {
  readonly subjects: SubjectKeys | undefined
  readonly effects: Pick<Effects, 'newId'>
  readonly sealer: Sealer
  readonly readOnly: boolean | undefined
}

/** Erasures that are on record, and not carried out here, are carried out first: a restored copy of the keys gives nothing back. */
export async function openSubjects({ subjects: keys, sealer, readOnly, ...deps }: SubjectsDeps): Promise<OpenSubjects> {
  if (keys === undefined) return { subjects: NO_SUBJECTS, [Symbol.asyncDispose]: async () => undefined }
  const erasures = new Erasures({ ...deps, keys, newId: deps.effects.newId })
  if (readOnly !== true) {
    keys.rewrap()
    await replayErasures({ keys, sealer, store: deps.store })
    await erasures.goOn()
  }
  const within = async <T>(caller: Caller, work: () => Promise<Answered<T>>): Promise<Answered<T>> => {
    const outside = ofWholeTenant(caller)
    return outside === undefined ? work() : { ok: false, refusal: outside }
  }
  return {
    subjects: {
      places: (caller, subject) =>
        within(caller, async () => ({ ok: true, value: await erasures.subject(caller, subject) })),
      erase: (caller, subject, asked) => within(caller, () => erasures.erase(caller, subject, asked)),
    },
    [Symbol.asyncDispose]: () => erasures[Symbol.asyncDispose](),
  }
}

const none = async (): Promise<{ ok: false; refusal: Refusal }> => ({
  ok: false,
  refusal: refusal(
    'keep-unavailable',
    'this ledger has no place for the keys of subjects, and so keeps nothing of one encrypted: use a store in a file (SQLite)',
  ),
})

const NO_SUBJECTS: Subjects = { places: none, erase: none }
