/** @module The form for a checkpoint that was saved outside the ledger, and the result of comparing it with the log. */

import { CHECK_CHECKPOINT } from '../paths.ts'
import type { CheckpointVerdict } from '../saved-checkpoint.ts'
import { Data } from './data.tsx'

const KINDS = { same: 'good', altered: 'bad', unknown: 'warn' } as const
const HEADS = {
  same: 'The log is the one that was signed then',
  altered: 'The log is not the one that was signed then',
  unknown: 'This says nothing about the log',
} as const

interface SavedCheckpointProps {
  readonly csrf: string
  readonly pasted: string
  readonly verdict: CheckpointVerdict | undefined
}

export function SavedCheckpoint({ csrf, pasted, verdict }: SavedCheckpointProps) {
  return (
    <section class="card" aria-labelledby="saved-title" id="saved">
      <h2 id="saved-title">Check a saved checkpoint</h2>
      {verdict !== undefined && (
        <div class={`notice notice-${KINDS[verdict.verdict]}`} role="status">
          <p>
            <strong>{HEADS[verdict.verdict]}.</strong> <Data text={verdict.text} />
          </p>
        </div>
      )}
      <form method="post" action={CHECK_CHECKPOINT}>
        <input type="hidden" name="csrf" value={csrf} />
        <label for="saved-note">
          Paste a checkpoint that you saved, with its signature lines, or a time-stamp: the ledger compares it with its
          log
        </label>
        <textarea id="saved-note" name="note" rows={6} maxlength={30_000} required spellcheck={false} class="mono">
          {pasted}
        </textarea>
        <button type="submit" class="button">
          Check it
        </button>
      </form>
      <p class="muted">
        The ledger answers for itself here. Whoever does not trust it runs{' '}
        <code>countersign verify --checkpoint FILE</code> over the store or a bundle.
      </p>
    </section>
  )
}
