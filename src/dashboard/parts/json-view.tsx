/** @module JSON for display: indented, with hidden characters made visible, and truncated with a notice if it is too long for a page. */
import type { Json } from '../../../schemas/json.ts'
import { count } from '../format.ts'
import { Data } from './data.tsx'

const SHOWN_CHARS = 60_000

export function JsonView({ value }: { readonly value: Json }) {
  const text = JSON.stringify(value, null, 2)
  const shown = text.length > SHOWN_CHARS ? text.slice(0, SHOWN_CHARS) : text
  return (
    <>
      <pre class="json" tabindex={0}>
        <Data text={shown} />
      </pre>
      {shown.length < text.length && (
        <p class="muted">
          The first {count(shown.length)} of {count(text.length)} characters; the export holds them all.
        </p>
      )}
    </>
  )
}
