// A client program with the client that the OpenAPI Generator's `go` generates: `program URL KEY`.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strings"

	openapi "github.com/GIT_USER_ID/GIT_REPO_ID"
)

// The document names the address of the service, so the configuration has none.
var client = openapi.NewAPIClient(openapi.NewConfiguration())

func check(expected, found any) {
	if !reflect.DeepEqual(expected, found) {
		panic(fmt.Sprintf("expected %v, got %v", expected, found))
	}
}

func with(key string) context.Context {
	keys := map[string]openapi.APIKey{"apiKey": {Key: key}}
	return context.WithValue(context.Background(), openapi.ContextAPIKeys, keys)
}

func create(ctx context.Context, body *openapi.CreatePetRequest) (openapi.Pet, http.Header) {
	pet, response, err := client.PetsAPI.CreatePet(ctx).CreatePetRequest(*body).Execute()
	check(nil, err)
	check(201, response.StatusCode)
	return *pet, response.Header
}

func checkRefusal(status int, code openapi.ErrorCode, response *http.Response, err error) {
	check(status, response.StatusCode)
	body := err.(*openapi.GenericOpenAPIError).Model().(openapi.ErrorResponse)
	check(code, body.Error.Code)
}

func main() {
	address, key := os.Args[1], os.Args[2]
	ctx := with(key)

	health, _, err := client.DefaultAPI.HealthCheck(context.Background()).Execute()
	check(nil, err)
	check(openapi.OK, health.Status)

	before, _, err := client.StoreAPI.GetInventory(ctx).Execute()
	check(nil, err)

	body := openapi.NewCreatePetRequest("Rex")
	body.SetTag("dog")
	rex, header := create(ctx, body)
	check([]string{"Rex", "dog"}, []string{rex.Name, rex.GetTag()})
	check(address+"/v1/pets/"+rex.Id, header.Get("Location"))
	others := []openapi.Pet{}
	for _, name := range []string{"Żółw", "Polly", "🐕"} {
		pet, _ := create(ctx, openapi.NewCreatePetRequest(name))
		others = append(others, pet)
	}

	// Follow the pages after Rex: two pets on each, then the last one.
	pages := [][]openapi.Pet{}
	for after := rex.Id; after != ""; {
		page, response, err := client.PetsAPI.ListPets(ctx).Limit(2).After(after).Execute()
		check(nil, err)
		pages = append(pages, page)
		link, _, _ := strings.Cut(strings.TrimPrefix(response.Header.Get("Link"), "<"), ">")
		next, err := url.Parse(link)
		check(nil, err)
		after = next.Query().Get("after")
	}
	check([][]openapi.Pet{others[:2], others[2:]}, pages)

	pet, _, err := client.PetsAPI.GetPet(ctx, rex.Id).Execute()
	check(nil, err)
	check(rex, *pet)
	inventory, _, err := client.StoreAPI.GetInventory(ctx).Execute()
	check(nil, err)
	check(before.Available+4, inventory.Available)

	// The tags of the fields have the pattern, for validators.
	name, _ := reflect.TypeOf(rex).FieldByName("Name")
	pattern := regexp.MustCompile(strings.TrimPrefix(name.Tag.Get("validate"), "regexp="))
	check([]bool{true, true, false, false}, []bool{
		pattern.MatchString("Rex"), pattern.MatchString("狗"), pattern.MatchString("  "), pattern.MatchString("\x00"),
	})

	_, response, err := client.PetsAPI.ListPets(ctx).Limit(-1).Execute()
	checkRefusal(400, openapi.BAD_REQUEST, response, err)
	_, response, err = client.PetsAPI.ListPets(with("wrong")).Execute()
	checkRefusal(401, openapi.UNAUTHORIZED, response, err)
	_, response, err = client.PetsAPI.GetPet(ctx, "none").Execute()
	checkRefusal(404, openapi.NOT_FOUND, response, err)
}
