/** @module A question of the overview with its answer, and a link to the full answer. */
import type { Child } from 'hono/jsx'
import type { Part } from '../overview.ts'

export interface QuestionCardProps {
  readonly title: string
  readonly all: { readonly href: string; readonly text: string }
  readonly children?: Child
}

export function QuestionCard({ title, all, children }: QuestionCardProps) {
  return (
    <section class="card question" aria-label={title}>
      <h2>{title}</h2>
      {children}
      <p class="question-all">
        <a href={all.href}>{all.text}</a>
      </p>
    </section>
  )
}

interface ListProps<T> {
  readonly part: Part<readonly T[]>
  readonly none: string
  readonly row: (item: T) => Child
}

/** The rows; a text that there are none; or the reason why they are unknown, which must not look like an empty answer. */
export function PartList<T>({ part, none, row }: ListProps<T>) {
  if (!part.ok) return <p class="notice notice-warn">{part.why}</p>
  if (part.value.length === 0) return <p class="muted">{none}</p>
  return (
    <ul class="rows">
      {part.value.map((item) => (
        <li>{row(item)}</li>
      ))}
    </ul>
  )
}
