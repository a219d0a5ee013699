/** @module The page of whatever went wrong: what, and what to do. */
import type { Child } from 'hono/jsx'
import { RUNS } from '../paths.ts'
import { Data } from './data.tsx'

export interface ProblemProps {
  readonly status: number
  readonly title: string
  readonly detail: string
  readonly remedy?: string | undefined
  /** Default: true. A token that does not open the runs is not sent there. */
  readonly leadsOn?: boolean
  readonly children?: Child
}

export function Problem({ status, title, detail, remedy, leadsOn = true, children }: ProblemProps) {
  return (
    <section class="problem">
      <p class="status" aria-hidden="true">
        {status}
      </p>
      <h1>{title}</h1>
      <p>
        <Data text={detail} />
      </p>
      {remedy !== undefined && <p class="muted">{remedy}</p>}
      {children}
      {leadsOn && (
        <p>
          <a class="button" href={RUNS}>
            To the runs
          </a>
        </p>
      )}
    </section>
  )
}
