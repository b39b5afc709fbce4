// A client program with the client that the OpenAPI Generator's `java` generates: `java Scenario URL KEY`.

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.ApiResponse;
import org.openapitools.client.api.DefaultApi;
import org.openapitools.client.api.PetsApi;
import org.openapitools.client.api.StoreApi;
import org.openapitools.client.model.CreatePetRequest;
import org.openapitools.client.model.ErrorCode;
import org.openapitools.client.model.ErrorResponse;
import org.openapitools.client.model.HealthStatus;
import org.openapitools.client.model.Inventory;
import org.openapitools.client.model.Pet;

public class Scenario {
    interface Call {
        void run() throws ApiException;
    }

    static void check(Object expected, Object found) {
        if (!expected.equals(found)) throw new AssertionError("expected " + expected + ", got " + found);
    }

    // The document names the address of the service, so the client needs none.
    static ApiClient clientWith(String key) {
        return new ApiClient().setRequestInterceptor(request -> request.header("X-API-Key", key));
    }

    static void checkRefusal(int status, ErrorCode code, Call call) throws Exception {
        try {
            call.run();
        } catch (ApiException error) {
            check(status, error.getCode());
            ErrorResponse body = new ObjectMapper().readValue(error.getResponseBody(), ErrorResponse.class);
            check(code, body.getError().getCode());
            return;
        }
        throw new AssertionError("no error");
    }

    public static void main(String[] arguments) throws Exception {
        String address = arguments[0];
        ApiClient client = clientWith(arguments[1]);
        PetsApi pets = new PetsApi(client);
        StoreApi store = new StoreApi(client);

        check(HealthStatus.OK, new DefaultApi(new ApiClient()).healthCheck().getStatus());

        Inventory before = store.getInventory();

        ApiResponse<Pet> created = pets.createPetWithHttpInfo(new CreatePetRequest().name("Rex").tag("dog"), null);
        Pet rex = created.getData();
        check(201, created.getStatusCode());
        check(List.of("Rex", "dog"), List.of(rex.getName(), rex.getTag()));
        check(List.of(address + "/v1/pets/" + rex.getId()), created.getHeaders().get("location"));
        List<Pet> others = new ArrayList<>();
        for (String name : List.of("Żółw", "Polly", "🐕")) {
            others.add(pets.createPet(new CreatePetRequest().name(name), null));
        }

        // Follow the pages after Rex: two pets on each, then the last one.
        List<List<Pet>> pages = new ArrayList<>();
        for (String after = rex.getId(); after != null; ) {
            ApiResponse<List<Pet>> page = pets.listPetsWithHttpInfo(2, after);
            pages.add(page.getData());
            List<String> links = page.getHeaders().getOrDefault("link", List.of(""));
            Matcher next = Pattern.compile("[?&]after=([^&>]+)").matcher(links.get(0));
            after = next.find() ? next.group(1) : null;
        }
        check(List.of(others.subList(0, 2), others.subList(2, 3)), pages);

        check(rex, pets.getPet(rex.getId()));
        check(before.available(before.getAvailable() + 4), store.getInventory());

        checkRefusal(400, ErrorCode.BAD_REQUEST, () -> pets.listPets(-1, null));
        checkRefusal(401, ErrorCode.UNAUTHORIZED, () -> new PetsApi(clientWith("wrong")).listPets(null, null));
        checkRefusal(404, ErrorCode.NOT_FOUND, () -> pets.getPet("none"));
    }
}
