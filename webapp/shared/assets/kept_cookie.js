// Keeps a value in a cookie for a year, such as the current project, so that a new tab starts with it.
export default function ({ data }) {
  document.cookie = `${data.name}=${data.value}; path=/; max-age=31536000; samesite=lax`;
}
