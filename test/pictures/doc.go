// Package pictures has one test, which uses Temporal's UI of `temper dev` as a person does: in a browser, with clicks.
// It asserts by Temper's API what each click did, and takes the pictures of docs/temporal-ui.md. It is a module of its
// own, so that nothing else depends on the client of the browser.
package pictures
