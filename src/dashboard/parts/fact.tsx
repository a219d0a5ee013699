/** @module One item in a list of facts. */
import type { Child } from 'hono/jsx'

export function Fact({ label, children }: { readonly label: string; readonly children?: Child }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}
