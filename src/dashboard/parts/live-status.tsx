/** @module Announces to screen readers that the page was refreshed. */

export function LiveStatus() {
  return <p id="live-status" class="visually-hidden" role="status" aria-live="polite"></p>
}
