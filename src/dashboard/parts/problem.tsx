/** @module The page for a problem: what happened, and what to do. */
import type { Child } from 'hono/jsx'
import { RUNS } from '../paths.ts'
import { Data } from './data.tsx'

export interface ProblemProps {
  readonly status: number
  readonly title: string
  readonly detail: string
  readonly remedy?: string | undefined
  /** Whether to link to the runs. Default true; false for a token without access to them. */
  readonly leadsOn?: boolean
  readonly children?: Child
}

/** The API's details begin in lower case; here they start a sentence. A detail that begins with a name, such as `since:`, is not changed. */
const sentence = (text: string): string =>
  text.replace(/^[a-z]+(?= )/, (word) => word.charAt(0).toUpperCase() + word.slice(1))

/** Text between backticks, as the API marks commands and paths, is shown as code. */
function WithCode({ text }: { readonly text: string }) {
  return <>{text.split('`').map((part, index) => (index % 2 === 0 ? part : <code>{part}</code>))}</>
}

export function Problem({ status, title, detail, remedy, leadsOn = true, children }: ProblemProps) {
  return (
    <section class="problem">
      <p class="status" aria-hidden="true">
        {status}
      </p>
      <h1>{title}</h1>
      <p>
        <Data text={sentence(detail)} />
      </p>
      {remedy !== undefined && (
        <p class="muted">
          <WithCode text={remedy} />
        </p>
      )}
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
