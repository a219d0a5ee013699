/** @module Says of a run that is due and that no worker has taken since when that is so, and for which version. */
import type { Row } from '../run-row.ts'
import { Data, Time } from './data.tsx'

/** A worker with room takes a run within moments: if none has, those of its name and version are full, or none is running. */
const LATE_MS = 60_000

type Due = Pick<Row, 'dueAt' | 'version'>

export const isLate = ({ dueAt }: Due, nowMs: number): boolean =>
  dueAt !== undefined && Date.parse(dueAt) + LATE_MS < nowMs

/** "worker for version X", or "worker" for a run that no worker with a version has carried. */
export const WorkerFor = ({ version }: Pick<Due, 'version'>) => (
  <>
    worker
    {version !== undefined && (
      <>
        {' '}
        for version <Data text={version} />
      </>
    )}
  </>
)

export const NotTaken = ({ dueAt = '', version }: Due) => (
  <>
    a <WorkerFor version={version} /> may carry it on since <Time time={dueAt} />: none has
  </>
)
