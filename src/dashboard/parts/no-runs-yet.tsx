/** @module Instructions for the first run of a tenant without runs. */

export function NoRunsYet() {
  return (
    <div class="empty">
      <p class="empty-title">No runs yet</p>
      <p>
        Start one with <code>POST /v1/runs</code>, with the runtime (<code>npm install countersign</code>), or import
        transcripts with <code>countersign import FILE --format openai</code>. <code>countersign tour</code> shows what
        a run looks like, in a folder of its own.
      </p>
    </div>
  )
}
