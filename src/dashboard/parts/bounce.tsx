/** @module A page that navigates to another page of this site. */

export function Bounce({ to }: { readonly to: string }) {
  return (
    <section class="problem">
      <meta http-equiv="refresh" content="0" />
      <h1>One moment</h1>
      <p>
        <a class="button" href={to}>
          Go on
        </a>
      </p>
    </section>
  )
}
